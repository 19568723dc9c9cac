"""The pages, a folder each: `routes` answers, `view` puts together what its template shows."""
