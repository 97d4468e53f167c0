// SPDX-License-Identifier: Apache-2.0
// Experiments with what the command line adds. An input is a YAML text, and perhaps a line "--args"
// with a flag on each line behind it: "-n 4", "--batch 64", "--set a.b=c", "-- word".
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <tuple>

#include "config_schema/config_check.hpp"
#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/experiment/experiment_tree.hpp"
#include "config_schema/fields/secrets.hpp"
#include "config_schema/text/text.hpp"
#include "config_schema/yaml/yaml_document.hpp"
#include "config_schema/yaml/yaml_writer.hpp"
#include "tests/fuzz/property.hpp"

using namespace train;
using fuzz::require;

namespace {

constexpr std::string_view separator = "\n--args\n";
constexpr const char* file_name = "experiment.yaml";

struct Input {
  std::string text;
  ExperimentOverrides overrides;
};

template <class Integer>
std::optional<Integer> number_of(std::string_view text) {
  Integer number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

void add_flag(std::string_view line, ExperimentOverrides& overrides) {
  const std::string_view flag = line.substr(0, line.find(' '));
  const std::string_view value = line.substr(std::min(flag.size() + 1, line.size()));
  if (flag == "-n") overrides.slots = number_of<int>(value);
  if (flag == "--batch") overrides.global_batch = number_of<std::uint64_t>(value);
  if (flag == "--set") overrides.settings.emplace_back(value);
  if (flag == "--") overrides.command.emplace_back(value);
}

Input read_input(std::string_view bytes) {
  Input input;
  const std::size_t end = bytes.find(separator);
  input.text = std::string(bytes.substr(0, end));
  if (end == bytes.npos) return input;
  for (const std::string_view line : split(bytes.substr(end + separator.size()), '\n'))
    add_flag(line, input.overrides);
  return input;
}

std::vector<fuzz::NamedText> texts_of(const Input& input) {
  std::vector<fuzz::NamedText> texts = {{file_name, input.text}};
  const ExperimentOverrides& overrides = input.overrides;
  for (const std::string& setting : overrides.settings) texts.push_back({"--set", setting});
  if (overrides.slots) texts.push_back({"-n", std::to_string(*overrides.slots)});
  if (overrides.global_batch) texts.push_back({"--batch", std::to_string(*overrides.global_batch)});
  return texts;
}

void check_json(const std::string& text) {
  require(nlohmann::json::accept(text), "what becomes JSON is JSON", text);
  require(text.find('\n') == text.npos, "JSON is one line", text);
}

// What holding an experiment promises.
void check_experiment(const ExperimentConfig& config) {
  require(config.entrypoint.shell.empty() != config.entrypoint.argv.empty(),
          "there is one thing to run");
  require(config.workers >= 1, "there are workers");
  require(config.slots == config.needs.slots * config.workers, "slots are those of the workers");
  require(config.slots >= config.needs.slots, "slots are not less than one worker's");
  if (config.global_batch_size)
    require(*config.global_batch_size >= static_cast<std::uint64_t>(config.workers),
            "each worker has a sample");
  for (const EnvironmentVariable& variable : config.environment)
    require(!variable.name.empty() &&
                variable.name.find_first_of(std::string("=\0", 2)) == std::string::npos,
            "a variable has a name", variable.name);
  check_json(config.hyperparameters_json);
  check_json(config.data_json);
}

void check_result(const Result<ExperimentConfig>& result,
                  const std::vector<fuzz::NamedText>& texts) {
  if (!result) return fuzz::check_error(result.error(), ErrorClass::config, texts);
  fuzz::check_diagnostics(result->warnings, texts);
  check_experiment(*result);
}

// As the script gets it, but for what is not shown.
std::string without_secrets_of_storage(const std::string& line) {
  if (line.empty()) return line;
  auto storage = nlohmann::json::parse(line);
  for (auto& [key, value] : storage.items())
    if (is_secret_path("checkpoint_storage." + key)) value = "(redacted)";
  return storage.dump();
}

// What counts of an experiment: not where it was written, nor what is not shown.
ExperimentConfig meaning_of(ExperimentConfig config) {
  config.warnings.clear();
  config.checkpoints.json = without_secrets_of_storage(config.checkpoints.json);
  for (EnvironmentVariable& variable : config.environment) variable.place = {};
  std::sort(config.obstacles.begin(), config.obstacles.end(),
            [](const Obstacle& left, const Obstacle& right) {
              return std::tie(left.diagnostic.key, left.diagnostic.message) <
                     std::tie(right.diagnostic.key, right.diagnostic.message);
            });
  for (Obstacle& obstacle : config.obstacles) obstacle.diagnostic.place = {};
  return config;
}

// A legal experiment is shown so that it reads back to the same.
void check_shown(const Input& input, const std::vector<fuzz::NamedText>& texts) {
  const SourceText source{file_name, input.text};
  ExperimentOverrides overrides = input.overrides;
  overrides.command.clear();
  const auto checked = parse_experiment(source, overrides, ReadFor::checking);
  if (!checked) return fuzz::check_error(checked.error(), ErrorClass::config, texts);
  std::vector<Diagnostic> obstacles;
  for (const Obstacle& obstacle : checked->obstacles) obstacles.push_back(obstacle.diagnostic);
  fuzz::check_diagnostics(obstacles, texts);
  const auto shown = effective_experiment(source, overrides);
  require(shown.has_value(), "what is legal is shown");
  const std::string text = yaml_text(**shown, YamlComments::none);
  if (text.size() > max_yaml_bytes) return;
  const auto again = parse_experiment({file_name, text}, {}, ReadFor::checking);
  require(again.has_value(), "what is shown is legal", text);
  require(meaning_of(*again) == meaning_of(*checked), "what is shown means the same", text);
  const auto shown_again = effective_experiment({file_name, text}, {});
  require(shown_again && yaml_text(**shown_again, YamlComments::none) == text,
          "what is shown is shown the same again", text);
}

// Any tree is written as YAML that reads back to it, legal experiment or not.
void check_tree(const SourceText& source) {
  const auto root = read_yaml(source, ErrorClass::config);
  if (!root)
    return fuzz::check_error(root.error(), ErrorClass::config, {{source.name, source.text}});
  const std::string text = yaml_text(**root, YamlComments::none);
  if (text.size() > max_yaml_bytes) return;
  const auto again = read_yaml({source.name, text}, ErrorClass::config);
  require(again.has_value(), "what is written is YAML", text);
  require(json_text(**again) == json_text(**root), "YAML reads back to the same", text);
}

void check_findings(const SourceText& source) {
  const auto findings = check_file(source, kind_of(source));
  require(nlohmann::json::accept(findings_to_json(findings)), "findings are JSON");
}

// An editor's byte order mark and line ends change nothing.
std::string with_other_line_ends(const std::string& text) {
  std::string changed = "\xef\xbb\xbf";
  for (const char c : text) {
    if (c == '\n') changed += '\r';
    changed += c;
  }
  return changed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Input input = read_input({reinterpret_cast<const char*>(data), size});
  const auto texts = texts_of(input);
  Result<ExperimentConfig> result;
  {
    const fuzz::CpuLimit limit;
    result = parse_experiment({file_name, input.text}, input.overrides);
  }
  check_result(result, texts);
  check_shown(input, texts);
  check_tree({file_name, input.text});
  check_findings({file_name, input.text});
  const bool has_plain_ends = input.text.find_first_of("\r\xef") == std::string::npos;
  if (has_plain_ends)
    require(
        result == parse_experiment({file_name, with_other_line_ends(input.text)}, input.overrides),
        "line ends of another system read the same");
  if (texts.size() > 1) check_result(make_experiment(input.overrides), texts);
  return 0;
}
