#!/bin/sh
# Chromium for tests. As root it would take precedence over all other processes of the machine (nice -8), so it gets no right to.
program=/usr/bin/chromium-headless-shell
[ "$(id -u)" != 0 ] || exec setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice "$program" "$@"
exec "$program" "$@"
