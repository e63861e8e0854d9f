"""The operations of the standard library as models of OpenVINO's own operation set.

Requirement: the operation that the set has, in the format of the data; where it has none, the few that the library's
own converters put in its place. Sizes are open, as in models that are converted without shapes.
"""
