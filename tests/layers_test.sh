#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails when an #include crosses the layers of the architecture:
#   cli -> backends -> launcher -> config_schema        (to the right only)
# or those between rooms, when a pure layer touches the world, when a library's types leak through a
# header, and when a folder has too many files. Usage: layers_test.sh [ROOT]
set -u

# The rooms: what each may include of its own layer, beside itself. No line names a room that comes
# after it, so no two rooms include each other, in however many steps. "." is the folder itself: what
# needs several of its rooms, and is included by none.
rooms='
config_schema/text:
config_schema/yaml: text
config_schema/fields: text yaml
config_schema/resources: text fields
config_schema/search: text yaml fields
config_schema/experiment: text yaml fields resources search
config_schema/hosts: text yaml fields resources experiment
config_schema/allocation: text hosts
config_schema/.: text yaml fields experiment hosts

launcher/bootstrap:
launcher/context:
launcher/hyperparameters:
launcher/states:
launcher/record: states
launcher/search: hyperparameters states
launcher/plan: search
launcher/ports: context record
launcher/capacity: plan
launcher/frames: ports
launcher/lease: plan
launcher/rendezvous: plan
launcher/picture: plan capacity
launcher/placement: search plan capacity rendezvous
launcher/wire: context plan ports frames lease rendezvous
launcher/measures: ports frames wire
launcher/agent: states ports frames rendezvous wire
launcher/control: frames wire
launcher/formats: search plan rendezvous picture
launcher/output: ports frames wire
launcher/talks: ports frames lease rendezvous wire
launcher/connections: ports frames wire talks
launcher/live: plan capacity lease rendezvous picture talks
launcher/queue: ports frames lease wire talks
launcher/fitness: ports frames lease rendezvous wire talks live
launcher/doctor: fitness
launcher/hang: context plan ports frames lease rendezvous wire output
launcher/run: context states record plan ports frames lease rendezvous wire output connections hang
launcher/task: states plan ports capacity frames run
launcher/journal: record search plan ports frames wire run task
launcher/report_page: picture record search measures journal
launcher/drivers: search plan ports capacity lease rendezvous placement wire measures output connections hang run task journal

backends/posix:
backends/accelerator: posix
backends/event_loop: posix
backends/lease: posix
backends/registry: posix
backends/ssh_formats: posix
backends/control: posix event_loop
backends/link: posix event_loop
backends/log: posix event_loop
backends/network: posix event_loop
backends/process: posix event_loop lease
backends/observe: posix event_loop process
backends/store: posix event_loop registry
backends/context: posix event_loop process
backends/local: posix event_loop process
backends/command: posix event_loop link process
backends/openssh: posix event_loop link process command
backends/ssh_config: posix event_loop ssh_formats process
backends/visits: posix lease process
backends/inspect: posix event_loop process
backends/attempt: posix event_loop lease network observe process visits inspect
backends/results: posix context
backends/ssh_keys: posix event_loop ssh_formats ssh_config
backends/agent: posix event_loop lease observe process attempt
backends/fitness: posix accelerator network observe process context visits attempt
backends/doctor: posix event_loop link observe process store fitness ssh_config ssh_keys
backends/ssh_session: posix event_loop ssh_formats ssh_keys
backends/ssh: posix event_loop ssh_formats link ssh_config ssh_keys ssh_session

cli/surroundings:
cli/terminal: surroundings
cli/show: surroundings terminal
cli/logs: surroundings terminal show
cli/request: surroundings terminal logs
cli/completion: surroundings
cli/record:
cli/story: surroundings terminal show logs record
cli/supervisor: surroundings terminal show logs request record story
cli/agent: surroundings
cli/jobs: surroundings terminal show request supervisor
cli/commands: surroundings terminal show logs request completion record story supervisor agent jobs
cli/task_commands: surroundings terminal show logs request completion record story supervisor agent jobs commands
cli/.: surroundings terminal request jobs commands task_commands
'

root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$root" || exit 2
failures=0

complain() {  # file:line, what
  printf '%s: %s\n' "$1" "$2"
  failures=$((failures + 1))
}

# check FOLDER PATTERN MESSAGE [HEADERS]: no #include under FOLDER matches the extended PATTERN.
check() {
  local folder=$1 pattern=$2 message=$3 names=${4:-'.*\.(cpp|hpp)'} except=${5:-}
  [ -d "$folder" ] || return 0
  local hit
  while IFS= read -r hit; do
    complain "$(cut -d: -f1,2 <<<"$hit")" "$message: $(cut -d: -f3- <<<"$hit")"
  done < <(find "$folder" -type f -regextype posix-extended -regex "$names" -not -path "$except" -print0 |
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

# check_room LAYER ROOM ALLOWED...: the files of a room include no other rooms of its layer.
check_room() {
  local layer=$1 room=$2 allowed hit
  shift 2
  allowed=$(printf '%s\n' "$@" | paste -sd'|')
  local files=("$layer/$room")
  if [ "$room" = . ]; then
    files=("$layer"/*.cpp "$layer"/*.hpp)
  else
    allowed+="${allowed:+|}$room"
  fi
  while IFS= read -r hit; do
    complain "$(cut -d: -f1,2 <<<"$hit")" \
      "$layer/$room may use ${*:-nothing else} of $layer: $(cut -d: -f3- <<<"$hit")"
  done < <(grep -rHnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*\"$layer/" --include='*.cpp' \
    --include='*.hpp' --include='*.in' "${files[@]}" 2>/dev/null |
    if [ "$room" = . ]; then grep -vE "\"$layer/([^/\"]*|($allowed)/[^\"]*)\""
    else grep -vE "\"$layer/($allowed)/"; fi)
}

listed=' '
while IFS=: read -r room uses; do
  [ -n "$room" ] || continue
  layer=${room%%/*}
  read -ra uses <<<"$uses"
  for use in ${uses[@]+"${uses[@]}"}; do
    [[ $listed == *" $layer/$use "* ]] || complain "$room" "the table lets it use $use, which comes later"
  done
  listed+="$room "
  check_room "$layer" "${room#*/}" ${uses[@]+"${uses[@]}"}
done <<<"$rooms"
while IFS= read -r folder; do
  [[ $listed == *" $folder "* ]] || complain "$folder" 'is no room of the table'
done < <(find config_schema launcher backends cli -mindepth 2 -maxdepth 2 -name '*.[ch]pp' -printf '%h\n' |
  sort -u)

# A room that can be overlooked.
most_files=25
while read -r count folder; do
  [ "$count" -le "$most_files" ] || complain "$folder" "has $count sources, more than $most_files: split it"
done < <(find config_schema launcher backends cli -name '*.[ch]pp' -printf '%h\n' | sort | uniq -c)

for folder in config_schema launcher backends cli tests; do
  # All but the header that describes structs: only sources include that.
  check "$folder" '<(asio|nlohmann/json\.hpp|yaml-cpp)' 'a library stays out of headers' '.*\.hpp' \
    launcher/frames/fields.hpp
done

# Of config_schema, one file reads YAML.
while IFS= read -r file; do
  [ "$file" = config_schema/yaml/yaml_document.cpp ] ||
    complain "$file" 'only yaml_document.cpp includes yaml-cpp'
done < <(grep -rlE '^[[:space:]]*#[[:space:]]*include[[:space:]]*<yaml-cpp/' config_schema)

if [ "$failures" -gt 0 ]; then
  printf '%d faults in the layers\n' "$failures"
  exit 1
fi
printf 'the layers hold\n'
