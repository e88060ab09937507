"""Merge mapped stages that are scalar code, and what selects from their results, into loops over the trips.

- `places.py`: buffers as windows of what owns their storage, and places in them;
- `stages.py`: the loops around calls of scalar procedures, with the callee in place of the call;
- `alignment.py`: which trips of different stages belong together;
- `region.py`: the statements that are merged, and whether they may move to where the last of them stands;
- `elements.py`: what each element is that they write: a trip, and a scalar of the trip's number;
- `loops.py`: the loops that compute what is left;
- `fusion.py`: the pass.

Source: lowering specification 3.4.
"""
