"""Matrix products verified with secret random vectors (Freivalds 1977), with thresholds derived from the arithmetic.

Two stages. The *screen* forms A(BR) - CR and compares each row with a threshold that follows from the formats, the
lengths of the sums and row statistics of A and B (`model`). It is cheap and sharp and rests on a statistical model of
the data. Rows that exceed it are *examined*: every element of such a row is recomputed exactly and compared with a
bound that uses its real partial sums (`examine`). Only what fails there is called a fault, so the data model decides
what is looked at, never what is accused. `product.check_product` is the door.
"""
