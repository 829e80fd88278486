"""What reacts: uploads, saved versions, runs that ended, dead letters."""
