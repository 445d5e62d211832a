#!/usr/bin/env bash
# Runs once, when Gradescope builds the image. The course's tree lies in source/course, beside this file.
set -euo pipefail
umask 022 # the user that submissions run as has to read the course
apt-get update
apt-get install -y --no-install-recommends cmake g++ make
cd /autograder/source/course
cmake --preset test
cmake --build --preset test
