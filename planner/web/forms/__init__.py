"""The scenario form, made from the schema, so that units, ranges and help cannot drift from what is accepted."""
