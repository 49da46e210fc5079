"""Studies of data and finished runs that are no runs themselves; an experiment names one by its key `study`."""
