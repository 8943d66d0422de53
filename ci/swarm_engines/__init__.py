"""Several Docker engines on one machine, as if each had a machine of its own, joined to a swarm.

An engine has its own network, process and mount namespaces and a host name; a pair of links puts it on a bridge that
all share. Its /run goes with its processes, as with a machine that is switched off; its data lie in a file system in
memory that outlives it. `ci/swarm-engines` is for people and for tests.
"""
