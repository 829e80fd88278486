"""CloudFormation, the embedded AWS, and Dagster's instance configuration."""
