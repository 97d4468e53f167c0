// SPDX-License-Identifier: Apache-2.0
#include "cli/request/given_environment.hpp"

#include <fmt/format.h>

#include "cli/request/request.hpp"
#include "config_schema/experiment/experiment_environment.hpp"
#include "launcher/rendezvous/rank_environment.hpp"

namespace train {

namespace {

Result<std::vector<EnvironmentVariable>> read_variables_file(const std::string& path) {
  auto text = read_input(path, "variables");
  if (!text) return tl::make_unexpected(text.error());
  return parse_variables({path, std::move(*text)});
}

// The value is the text of the file without the newline that editors add.
Result<EnvironmentVariable> read_secret(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  EnvironmentVariable secret{argument.substr(0, equals), std::nullopt, {"--secret", 0, 0, {}}};
  if (!is_variable_name(secret.name))
    return fail(ErrorClass::usage, "--secret: there is no name",
                "write --secret NAME, or --secret NAME=@FILE");
  if (equals == argument.npos) return secret;
  if (argument.compare(equals, 2, "=@") != 0)
    return fail(
        ErrorClass::usage,
        fmt::format("--secret {}: a value here is seen by all users of this machine", secret.name),
        fmt::format("write it into a file: --secret {0}=@FILE; or export {0}, and give "
                    "--secret {0}",
                    secret.name));
  auto text = read_input(argument.substr(equals + 2), "secret");
  if (!text) return tl::make_unexpected(text.error());
  if (text->ends_with('\n')) text->pop_back();
  if (text->ends_with('\r')) text->pop_back();
  if (text->find('\0') != text->npos)
    return fail(ErrorClass::config,
                fmt::format("--secret {}: the file holds a zero byte", secret.name),
                "a variable holds text: encode it, such as with base64");
  secret.value = std::move(*text);
  return secret;
}

class Reader {
 public:
  Result<void> add_file(const std::string& path) {
    auto variables = read_variables_file(path);
    if (!variables) return tl::make_unexpected(variables.error());
    for (EnvironmentVariable& variable : *variables)
      if (auto added = add_secret(std::move(variable)); !added) return added;
    return {};
  }

  Result<void> add_variable(const std::string& argument) {
    auto variable = parse_variable(argument);
    if (!variable) return tl::make_unexpected(variable.error());
    found_.secrets.erase(variable->name);
    found_.variables.push_back(std::move(*variable));
    return {};
  }

  Result<void> add_secret(const std::string& argument) {
    auto secret = read_secret(argument);
    if (!secret) return tl::make_unexpected(secret.error());
    return add_secret(std::move(*secret));
  }

  GivenEnvironment take() { return std::move(found_); }

 private:
  Result<void> add_secret(EnvironmentVariable variable) {
    if (auto fault =
            oversized_variable(variable.name, variable.value.value_or(""), variable.place, {}))
      return tl::make_unexpected(Error{ErrorClass::config, {std::move(*fault)}});
    found_.secrets.erase(variable.name);
    if (variable.value) found_.secrets[variable.name] = std::move(*variable.value);
    variable.value.reset();
    found_.variables.push_back(std::move(variable));
    return {};
  }

  GivenEnvironment found_;
};

}  // namespace

Result<GivenEnvironment> read_given_environment(const EnvironmentFlags& flags) {
  Reader reader;
  for (const std::string& path : flags.files)
    if (auto added = reader.add_file(path); !added) return tl::make_unexpected(added.error());
  for (const std::string& argument : flags.variables)
    if (auto added = reader.add_variable(argument); !added)
      return tl::make_unexpected(added.error());
  for (const std::string& argument : flags.secrets)
    if (auto added = reader.add_secret(argument); !added) return tl::make_unexpected(added.error());
  return reader.take();
}

}  // namespace train
