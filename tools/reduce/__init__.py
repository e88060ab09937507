"""Reducing a failing file: what makes a candidate interesting, what candidates there are, and the search for the least.

Read `state`, `steps`, `search`, then the candidates of each dialect; `driver` puts them together for scaly-reduce.
"""
