"""The dynamics of trees by recursion: each algorithm once, in 6-vector notation, on numbers or symbols."""
