"""The same thing or person followed across days: associated by looks, described, corrected."""
