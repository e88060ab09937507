"""The `affine` dialect: counted loops with carried values, index expressions and the maps that they are made of."""
