"""Tools of this repository that ship with nothing."""
