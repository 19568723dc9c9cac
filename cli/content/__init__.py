"""What messages say: stored templates and their versions, programs, previews."""
