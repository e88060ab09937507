"""The `buffer` dialect: functions of storage, element reads and writes; home of what three dialects share.

`buffer`, `affine` and `matrix` make one text: functions whose statements are of any of them.
"""
