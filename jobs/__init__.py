"""What runs: the document job, verification of saved versions, and housekeeping with its schedules."""
