"""What the functions of the deployment are built with."""
