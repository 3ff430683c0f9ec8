"""The mechanism outside Python: C, FMUs.

names         identifiers of C
kernels       straight-line functions, traced as everywhere and written as C
laws          controllers as numbers
contents      the request, checked: everything that is decided before text is written
source, header, examples   the text; templates/ is C for a mechanism called "mechanism"
c             `System.export_c`
"""
