"""What a run is: its recipe, the schedule of its rate, and presets of whole recipes."""
