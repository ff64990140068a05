"""The definition of every mixer: slow, readable, in float64, importing nothing from the package.

A mixer `some-name` has the file `some_name.py` here, with

    definition(x, mask, weights, place, options)   what the mixer must return, from its state dict,
                                                   written with the whole N x N matrix
    SMALL                                          options that make several blocks exist at N = 61
    VARIANTS                                       further options that must keep the contract
"""

from importlib import import_module


def of(name):
    """Find the module that defines a mixer."""
    return import_module(f"attention.definitions.{name.replace('-', '_')}")
