"""The documentation as a site, built by Zensical and checked afterwards: `python -m ci.site`."""
