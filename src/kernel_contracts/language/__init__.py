"""The contract language: text to syntax tree and back, with findings a person can act on. Knows no contract class."""
