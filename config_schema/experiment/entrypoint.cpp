// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/entrypoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config_schema/text/shell_words.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

using Words = std::vector<ShellWord>;

constexpr std::string_view wrapper_prefix = "determined.launch.";

std::vector<Words> commands_of(const Entrypoint& entrypoint) {
  if (!entrypoint.shell.empty()) return shell_commands(entrypoint.shell);
  Words words;
  for (std::size_t i = 0; i < entrypoint.argv.size(); ++i) words.push_back({entrypoint.argv[i], i});
  return {words};
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_python(std::string_view word) { return base_name(word).substr(0, 6) == "python"; }

// The index of the program, after `exec`, `env NAME=value` and the like.
std::size_t program_index(const Words& words) {
  std::size_t i = 0;
  while (i < words.size()) {
    const std::string_view word = base_name(words[i].text);
    const bool is_prefix = word == "exec" || word == "env" || word == "nohup" || word == "time";
    const bool is_assignment = i > 0 && word.find('=') != word.npos && word.front() != '-';
    if (!is_prefix && !is_assignment) break;
    ++i;
  }
  return i;
}

// The index of the module's name in `python3 [flags] -m module`, or the number of words.
std::size_t module_index(const Words& words, std::size_t program) {
  if (program >= words.size() || !is_python(words[program].text)) return words.size();
  for (std::size_t i = program + 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (word == "-m") return std::min(i + 1, words.size());
    if (word == "-c" || word.empty() || word.front() != '-') return words.size();
    if (word == "-X" || word == "-W") ++i;
  }
  return words.size();
}

template <std::size_t N>
bool is_among(std::string_view word, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::optional<std::string> host_launcher(const Words& words) {
  constexpr std::array<std::string_view, 8> programs = {"torchrun", "deepspeed", "horovodrun",
                                                        "mpirun",   "mpiexec",   "mpiexec.hydra",
                                                        "orterun",  "prterun"};
  constexpr std::array<std::string_view, 8> modules = {"torch.distributed.run",
                                                       "torch.distributed.launch",
                                                       "deepspeed",
                                                       "torchrun",
                                                       "accelerate.commands.launch",
                                                       "horovod.runner.launch",
                                                       "deepspeed.launcher.runner",
                                                       "horovod.runner"};
  const std::size_t program = program_index(words);
  if (program >= words.size()) return std::nullopt;
  const std::string_view name = base_name(words[program].text);
  if (is_among(name, programs)) return std::string(name);
  const bool launches = program + 1 < words.size() && words[program + 1].text == "launch";
  if (name == "accelerate" && launches) return "accelerate launch";
  const std::size_t module = module_index(words, program);
  if (module < words.size() && is_among(words[module].text, modules)) return words[module].text;
  return std::nullopt;
}

// The index of the wrapped command's first word, or the reason why there is none.
tl::expected<std::size_t, WrapperTrouble> wrapped_command(const Words& words, std::size_t module) {
  const std::string& wrapper = words[module].text;
  for (std::size_t i = module + 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (word == "--trial" || word.substr(0, 8) == "--trial=")
      return tl::make_unexpected(
          WrapperTrouble{fmt::format("'{} --trial' runs a trial class of Determined", wrapper),
                         "write the command that each rank runs, such as 'python3 train.py'"});
    if (word == "--" && i + 1 < words.size()) return i + 1;
    if (word.empty() || word.front() != '-') {
      const std::string& before = words[i - 1].text;
      const bool may_be_value = i - 1 > module && before.find('=') == before.npos &&
                                before != "--autohorovod" && before != "--no_python";
      const bool is_marked = std::any_of(words.begin() + static_cast<long>(i), words.end(),
                                         [](const ShellWord& w) { return w.text == "--"; });
      if (is_marked && i - 1 > module) continue;
      if (!may_be_value) return i;
      return tl::make_unexpected(WrapperTrouble{
          fmt::format("after '{} {}' it is not clear where the command begins", wrapper, before),
          "put '--' before the command, or write the command alone"});
    }
  }
  return tl::make_unexpected(WrapperTrouble{fmt::format("'{}' wraps no command", wrapper),
                                            "write the command that each rank runs"});
}

// Like the wrappers, runs a script with the interpreter that ran the wrapper.
bool needs_interpreter(const std::string& word) {
  return word.size() > 3 && word.substr(word.size() - 3) == ".py";
}

Entrypoint cut(const Entrypoint& entrypoint, const Words& words, std::size_t program,
               std::size_t command) {
  Entrypoint result;
  const std::string& interpreter = words[program].text;
  if (entrypoint.shell.empty()) {
    const auto begin = entrypoint.argv.begin();
    result.argv.assign(begin, begin + static_cast<long>(program));
    if (needs_interpreter(words[command].text)) result.argv.push_back(interpreter);
    result.argv.insert(result.argv.end(), begin + static_cast<long>(command),
                       entrypoint.argv.end());
    return result;
  }
  result.shell = entrypoint.shell.substr(0, words[program].begin);
  if (needs_interpreter(words[command].text)) result.shell += shell_quoted(interpreter) + " ";
  result.shell += entrypoint.shell.substr(words[command].begin);
  return result;
}

constexpr std::array<std::string_view, 3> shells = {"sh", "bash", "dash"};
constexpr std::array<std::string_view, 5> other_interpreters = {"perl", "ruby", "node", "Rscript",
                                                                "julia"};

// python, python3, python3.11
bool is_numbered_python(std::string_view name) {
  return is_python(name) && name.substr(6).find_first_not_of("0123456789.") == name.npos;
}

// Excludes options, channels of Julia, and names of files that the system generates when they are
// opened.
bool is_path_of_file(std::string_view path) {
  const bool is_option = path.empty() || path.front() == '-' || path.front() == '+';
  return !is_option && !path.starts_with("/dev/") && !path.starts_with("/proc/");
}

// The first two words of a shell line of one command, after the variables that it sets; empty if a
// shell would change them.
std::vector<std::string> first_plain_words(std::string_view line) {
  line = trim(line);
  const bool sets_path = line.starts_with("PATH=") || line.find(" PATH=") != line.npos;
  if (sets_path || line.find_first_of(";&|()<>`\n") != line.npos) return {};
  const std::vector<Words> commands = shell_commands(line);
  if (commands.empty()) return {};
  std::vector<std::string> words;
  for (const ShellWord& word : commands.front()) {
    const bool is_as_written =
        line.substr(word.begin).starts_with(word.text) && shell_quoted(word.text) == word.text;
    if (!is_as_written) return {};
    words.push_back(word.text);
    if (words.size() == 2) break;
  }
  return words;
}

}  // namespace

Entrypoint with_words(Entrypoint entrypoint, const std::vector<std::string>& words) {
  if (entrypoint.shell.empty()) {
    entrypoint.argv.insert(entrypoint.argv.end(), words.begin(), words.end());
    return entrypoint;
  }
  // A trailing newline (of a block scalar) would make the words a separate command.
  while (!words.empty() && !entrypoint.shell.empty() && entrypoint.shell.back() == '\n')
    entrypoint.shell.pop_back();
  if (!words.empty()) entrypoint.shell += " " + shell_line(words);
  return entrypoint;
}

std::optional<std::string> find_host_launcher(const Entrypoint& entrypoint) {
  for (const Words& words : commands_of(entrypoint))
    if (auto launcher = host_launcher(words)) return launcher;
  return std::nullopt;
}

Unwrapped unwrap_determined(const Entrypoint& entrypoint) {
  for (const Words& words : commands_of(entrypoint)) {
    const std::size_t program = program_index(words);
    const std::size_t module = module_index(words, program);
    if (module >= words.size()) continue;
    const std::string& name = words[module].text;
    if (name.substr(0, wrapper_prefix.size()) != wrapper_prefix) continue;
    const auto command = wrapped_command(words, module);
    if (!command) return {entrypoint, name, command.error()};
    return {cut(entrypoint, words, program, *command), name, std::nullopt};
  }
  return {entrypoint, {}, std::nullopt};
}

std::optional<InterpretedScript> find_script(const Entrypoint& entrypoint) {
  const std::vector<std::string> words =
      entrypoint.argv.empty() ? first_plain_words(entrypoint.shell) : entrypoint.argv;
  if (words.size() < 2) return std::nullopt;
  const std::string_view interpreter = base_name(words[0]);
  const std::string& path = words[1];
  const bool is_shell = is_among(interpreter, shells);
  const bool is_known =
      is_shell || is_numbered_python(interpreter) || is_among(interpreter, other_interpreters);
  if (!is_known || !is_path_of_file(path)) return std::nullopt;
  // Excludes `node inspect train.js`, and `node train` for train.js.
  if (interpreter == "node" && !path.ends_with("js")) return std::nullopt;
  return InterpretedScript{std::string(interpreter), path, is_shell && path.find('/') == path.npos,
                           words[0]};
}

bool is_trial_class(const Entrypoint& entrypoint) {
  const std::string& text = entrypoint.shell;
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon == 0 || colon + 1 == text.size()) return false;
  constexpr std::string_view allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:";
  return text.find_first_not_of(allowed) == text.npos;
}

}  // namespace train
