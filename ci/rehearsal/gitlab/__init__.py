"""GitLab's pipelines, run here: which jobs a pipeline has, in what order, and what each finds.

https://docs.gitlab.com/ci/yaml/
"""
