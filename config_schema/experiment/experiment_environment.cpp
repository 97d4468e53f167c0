// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/experiment_environment.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr const char* list_path = "environment.environment_variables";
constexpr const char* ray_path = "runtime_env.env_vars";
constexpr const char* secrets_path = "secrets";

bool is_device(std::string_view key) {
  return key == "cpu" || key == "cuda" || key == "gpu" || key == "rocm";
}

// NAME=VALUE; without '=' the launcher's value is used, as in docker run -e.
EnvironmentVariable split_variable(std::string_view text, Place place) {
  const std::size_t equals = text.find('=');
  EnvironmentVariable variable{std::string(text.substr(0, equals)), std::nullopt, std::move(place)};
  if (equals != text.npos) variable.value = text.substr(equals + 1);
  return variable;
}

// Checks a variable's name and value; reports faults.
bool check_variable(const EnvironmentVariable& variable, const std::string& path,
                    Diagnostics& diagnostics) {
  if (!is_variable_name(variable.name)) {
    diagnostics.error(variable.place, path,
                      fmt::format("'{}' cannot be the name of a variable", variable.name));
    return false;
  }
  if (variable.value && variable.value->find('\0') != std::string::npos) {
    diagnostics.error(variable.place, path,
                      fmt::format("the value of '{}' holds a zero byte", variable.name));
    return false;
  }
  return true;
}

std::vector<EnvironmentVariable> read_list(const YamlNode& list, Diagnostics& diagnostics) {
  std::vector<EnvironmentVariable> variables;
  for (const YamlNodePtr& item : list.items) {
    const Place place = place_of(item->mark);
    if (item->kind != YamlKind::string) {
      diagnostics.error(
          place, list_path,
          fmt::format("'{}' must hold NAME=VALUE, not {}", list_path, describe(*item)));
      continue;
    }
    EnvironmentVariable variable = split_variable(item->text, place);
    if (check_variable(variable, list_path, diagnostics)) variables.push_back(std::move(variable));
  }
  return variables;
}

std::vector<EnvironmentVariable> read_any(const YamlNode& node, const Place& place,
                                          const std::string& path, Diagnostics& diagnostics) {
  if (node.is_null()) return {};
  if (node.kind == YamlKind::sequence) return read_list(node, diagnostics);
  if (node.kind == YamlKind::mapping) return read_variables(node, path, diagnostics);
  diagnostics.error(
      place, path,
      fmt::format("'{}' must be a list of NAME=VALUE or a mapping, not {}", path, describe(node)));
  return {};
}

std::vector<EnvironmentVariable> read_by_device(const YamlNode& mapping, bool has_slots,
                                                Diagnostics& diagnostics) {
  std::vector<EnvironmentVariable> chosen;
  for (const YamlEntry& entry : mapping.entries) {
    const std::string path = fmt::format("{}.{}", list_path, entry.key);
    auto variables = read_any(*entry.value, value_place(entry), path, diagnostics);
    if (entry.key == "rocm" && !variables.empty()) diagnostics.note_idle(value_place(entry), path);
    const bool is_chosen =
        has_slots ? entry.key == "cuda" || entry.key == "gpu" : entry.key == "cpu";
    if (is_chosen) chosen.insert(chosen.end(), variables.begin(), variables.end());
  }
  return chosen;
}

bool is_by_device(const YamlNode& node) {
  if (node.kind != YamlKind::mapping || node.entries.empty()) return false;
  for (const YamlEntry& entry : node.entries)
    if (!is_device(entry.key) || (entry.value->is_scalar() && !entry.value->is_null()))
      return false;
  return true;
}

// Collects the variables of an experiment in order. If a list names one twice, the later entry
// counts, as in Determined; two keys with different values are an error.
class Collection {
 public:
  Collection(std::vector<EnvironmentVariable>& variables, Diagnostics& diagnostics)
      : variables_(variables), diagnostics_(diagnostics) {}

  void add(EnvironmentVariable variable, bool is_other_key) {
    const auto [place, is_new] = known_.emplace(variable.name, variables_.size());
    if (is_new) {
      variables_.push_back(std::move(variable));
      return;
    }
    EnvironmentVariable& known = variables_[place->second];
    if (known.value == variable.value) return;
    if (is_other_key)
      diagnostics_.error(
          variable.place, "environment",
          fmt::format("'{}' has another value {}", variable.name, line_or_flag(known.place)),
          "keep one of the two");
    else
      diagnostics_.warn(variable.place, "environment",
                        fmt::format("'{}' was set {} already; this value counts", variable.name,
                                    line_or_flag(known.place)));
    known = std::move(variable);
  }

  // Replaces a variable of that name.
  void override_with(EnvironmentVariable variable) {
    const auto [place, is_new] = known_.emplace(variable.name, variables_.size());
    if (is_new)
      variables_.push_back(std::move(variable));
    else
      variables_[place->second] = std::move(variable);
  }

 private:
  std::vector<EnvironmentVariable>& variables_;
  Diagnostics& diagnostics_;
  std::unordered_map<std::string, std::size_t> known_;  // name to index
};

// Ray expands "$NAME" and "${NAME}" on the host (Python's os.path.expandvars).
void refuse_expansion(const EnvironmentVariable& variable, Diagnostics& diagnostics) {
  const std::string text = variable.value.value_or("");
  for (std::size_t i = text.find('$'); i != text.npos; i = text.find('$', i + 1)) {
    const char next = i + 1 < text.size() ? text[i + 1] : ' ';
    const bool is_name =
        next == '{' || next == '_' || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
    if (!is_name) continue;
    return diagnostics.error(
        variable.place, ray_path,
        fmt::format("the value of '{}' names a variable of the host, which Ray fills in and train "
                    "does not: '{}'",
                    variable.name, text),
        "write the value itself; in 'environment.variables' a $ is no more than a $");
  }
}

// Names whose values come from the launcher.
void read_secrets(const GivenValue& given, Diagnostics& diagnostics, Collection& collection) {
  for (const YamlNodePtr& item : given.node->items) {
    const EnvironmentVariable variable{item->text, std::nullopt, place_of(item->mark)};
    if (variable.name.find('=') != variable.name.npos)
      diagnostics.error(variable.place, secrets_path,
                        "'secrets' holds names of variables, and here is a value",
                        "write the name alone, and give the value with --secret NAME=@FILE, or in "
                        "the environment of train");
    else if (check_variable(variable, secrets_path, diagnostics))
      collection.add(variable, true);
  }
}

// A line of a file of variables without what a shell would leave out.
std::string_view plain_assignment(std::string_view line) {
  constexpr std::string_view exported = "export ";
  line = trim(line);
  if (line.starts_with(exported)) line = trim(line.substr(exported.size()));
  return line;
}

void unquote(std::string& value) {
  const bool is_quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
                         value.back() == value.front();
  if (is_quoted) value = value.substr(1, value.size() - 2);
}

}  // namespace

bool is_variable_name(std::string_view name) {
  return !name.empty() && name.find('=') == name.npos && name.find('\0') == name.npos;
}

std::vector<EnvironmentVariable> read_variables(const YamlNode& mapping, const std::string& path,
                                                Diagnostics& diagnostics) {
  std::vector<EnvironmentVariable> variables;
  for (const YamlEntry& entry : mapping.entries) {
    const Place place = place_of(entry.mark);
    if (!entry.value->is_scalar()) {
      diagnostics.error(value_place(entry), path + "." + entry.key,
                        fmt::format("the variable '{}' must be a single value, not {}", entry.key,
                                    describe(*entry.value)));
      continue;
    }
    EnvironmentVariable variable{entry.key, std::nullopt, place};
    if (!entry.value->is_null()) variable.value = entry.value->text;
    if (check_variable(variable, path + "." + entry.key, diagnostics))
      variables.push_back(std::move(variable));
  }
  return variables;
}

void read_environment(const FieldReader& fields, const std::vector<EnvironmentVariable>& overrides,
                      Diagnostics& diagnostics, ExperimentConfig& config) {
  Collection collection(config.environment, diagnostics);
  if (const GivenValue* given = fields.given(list_path)) {
    const YamlNode& node = *given->node;
    auto variables = is_by_device(node) ? read_by_device(node, !config.slots.is_zero(), diagnostics)
                                        : read_any(node, given->place, list_path, diagnostics);
    for (EnvironmentVariable& variable : variables) collection.add(std::move(variable), false);
  }
  if (const GivenValue* given = fields.given("environment.variables"))
    for (EnvironmentVariable& variable :
         read_variables(*given->node, "environment.variables", diagnostics))
      collection.add(std::move(variable), true);
  if (const GivenValue* given = fields.given(ray_path))
    for (EnvironmentVariable& variable : read_variables(*given->node, ray_path, diagnostics)) {
      refuse_expansion(variable, diagnostics);
      collection.add(std::move(variable), true);
    }
  if (const GivenValue* given = fields.given(secrets_path))
    read_secrets(*given, diagnostics, collection);
  for (const EnvironmentVariable& variable : overrides) collection.override_with(variable);
}

Result<std::vector<EnvironmentVariable>> parse_variables(const SourceText& source) {
  std::vector<EnvironmentVariable> variables;
  Error faults{ErrorClass::config, {}};
  int number = 0;
  for (const std::string_view line : split(source.text, '\n')) {
    ++number;
    const std::string_view text = plain_assignment(line);
    if (text.empty() || text.front() == '#') continue;
    EnvironmentVariable variable = split_variable(text, {source.name, number, 1, {}});
    if (variable.value) unquote(*variable.value);
    // A line that is no assignment may be a secret: it is not shown.
    const bool has_blank = variable.name.find_first_of(" \t") != variable.name.npos;
    if (has_blank || !is_variable_name(variable.name) || text.find('\0') != text.npos)
      faults.diagnostics.push_back({variable.place,
                                    {},
                                    "this line is no variable",
                                    "write NAME=VALUE, or NAME alone for the value here"});
    else
      variables.push_back(std::move(variable));
  }
  if (!faults.diagnostics.empty()) return tl::make_unexpected(std::move(faults));
  return variables;
}

Result<EnvironmentVariable> parse_variable(const std::string& argument) {
  EnvironmentVariable variable = split_variable(argument, {"--env", 0, 0, {}});
  if (is_variable_name(variable.name)) return variable;
  return fail(ErrorClass::usage, "--env: there is no name before '='",
              "write --env NAME=VALUE, or --env NAME for the value here");
}

void read_context(const FieldReader& fields, Diagnostics& diagnostics, ExperimentConfig& config) {
  const char* path = "runtime_env.working_dir";
  const GivenValue* given = fields.given(path);
  if (!given) return;
  const std::string& directory = given->node->text;
  if (trim(directory).empty())
    return diagnostics.error(given->place, path, fmt::format("'{}' is empty", path),
                             "write a folder of this machine; . is the current one");
  if (directory.find("://") != directory.npos)
    return diagnostics.error(
        given->place, path,
        fmt::format("'{}' is the URI '{}', and train fetches nothing", path, directory),
        "write a folder of this machine: it goes to the hosts");
  config.context_directory = directory;
}

}  // namespace train
