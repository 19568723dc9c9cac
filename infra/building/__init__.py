"""Parts of which the functions of the deployment are built."""
