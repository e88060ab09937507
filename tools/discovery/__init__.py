"""What there is, and what each of it is: passes, operations, dialects, types, attributes, rules and targets."""
