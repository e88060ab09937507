"""What scaly-run consists of.

`interface` says what a function takes and gives, `values` reads what users write for arrays, `binding` gives each input
its array, `engines` computes, `tracing` watches the evaluator, `comparison` and `results` show what came out, and
`driver` does all that in order.
"""
