#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails when an #include crosses the layers of the architecture:
#   cli -> backends -> launcher -> config_schema        (to the right only)
# when a pure layer touches the world, when one backend includes another, and when a library's types
# leak through a header. Usage: layers_test.sh [ROOT]
set -u

# "X Y" lets backends/X include backends/Y, where the architecture states it.
stated=('ssh link' 'ssh process' 'openssh link' 'openssh process' 'local process' 'context process' 'log process')

root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$root" || exit 2
failures=0

complain() {  # file:line, what
  printf '%s: %s\n' "$1" "$2"
  failures=$((failures + 1))
}

# check FOLDER PATTERN MESSAGE [HEADERS]: no #include under FOLDER matches the extended PATTERN.
check() {
  local folder=$1 pattern=$2 message=$3 names=${4:-'.*\.(cpp|hpp)'}
  [ -d "$folder" ] || return 0
  local hit
  while IFS= read -r hit; do
    complain "$(cut -d: -f1,2 <<<"$hit")" "$message: $(cut -d: -f3- <<<"$hit")"
  done < <(find "$folder" -type f -regextype posix-extended -regex "$names" -print0 |
    sort -z | xargs -0 -r grep -HnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*$pattern")
}

check config_schema '"(launcher|backends|cli)/' 'config_schema is the rightmost layer'
check launcher '"(backends|cli)/' 'launcher may use config_schema only'
check backends '"cli/' 'backends may use launcher and config_schema only'
for folder in config_schema launcher backends cli; do
  check "$folder" '"\.\.?/' 'includes go from the root of the repository'
  check "$folder" '"tests/' 'sources do not use tests'
done

world='fstream|iostream|filesystem|thread|mutex|shared_mutex|condition_variable|future|stop_token'
world+='|semaphore|barrier|latch|stdio\.h|ctime|time\.h|csignal|signal\.h|unistd\.h|fcntl\.h|poll\.h'
world+='|pthread\.h|netdb\.h|dlfcn\.h|sys/[^>]*|netinet/[^>]*|arpa/[^>]*|net/[^>]*|linux/[^>]*'
world+='|libssh2[^>]*|openssl/[^>]*|asio[^>]*|sqlite3[^>]*|SQLiteCpp/[^>]*'
for folder in config_schema launcher; do
  check "$folder" "<($world)>" 'a pure layer touches no file, clock, thread or socket'
  # <chrono> is for durations: no clock may be read.
  while IFS= read -r hit; do
    complain "$(cut -d: -f1,2 <<<"$hit")" "a pure layer reads no clock or environment"
  done < <(grep -rnE '(system|steady|high_resolution|utc)_clock::now|\bgetenv[[:space:]]*\(' \
    --include='*.cpp' --include='*.hpp' "$folder")
done
check launcher '<yaml-cpp/' 'only config_schema knows YAML'
check backends '<yaml-cpp/' 'only config_schema knows YAML'
check cli '<yaml-cpp/' 'only config_schema knows YAML'

for folder in backends/*/; do
  name=$(basename "$folder")
  allowed="$name|event_loop"
  for pair in ${stated[@]+"${stated[@]}"}; do
    [ "${pair% *}" = "$name" ] && allowed+="|${pair#* }"
  done
  others=$(find backends -mindepth 1 -maxdepth 1 -type d -printf '%f\n' |
    grep -vxE "$allowed" | sort | paste -sd'|')
  if [ -n "$others" ]; then
    check "${folder%/}" "\"backends/($others)/" 'a backend uses no other backend but event_loop'
  fi
done

for folder in config_schema launcher backends cli tests; do
  check "$folder" '<(asio|nlohmann/json\.hpp|yaml-cpp)' 'a library stays out of headers' '.*\.hpp'
done

# Of config_schema, one file reads YAML.
while IFS= read -r file; do
  [ "$file" = config_schema/yaml_document.cpp ] ||
    complain "$file" 'only yaml_document.cpp includes yaml-cpp'
done < <(grep -rlE '^[[:space:]]*#[[:space:]]*include[[:space:]]*<yaml-cpp/' config_schema)

if [ "$failures" -gt 0 ]; then
  printf '%d includes cross the layers\n' "$failures"
  exit 1
fi
printf 'the layers hold\n'
