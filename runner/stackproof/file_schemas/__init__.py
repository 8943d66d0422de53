"""What may stand in the YAML files of a project, as the code that reads them asks for it: for pages and for editors."""
