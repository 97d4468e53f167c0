// SPDX-License-Identifier: Apache-2.0
#include "backends/command/command_transport.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "backends/command/command_link.hpp"
#include "backends/command/slurm_query.hpp"
#include "backends/link/link_handle.hpp"

namespace train {

namespace {

constexpr std::string_view command_placeholder = "{command}";

struct Placeholder {
  std::string_view name;
  std::string_view value;
};

// What is filled in is not looked at again. Other braces stay.
std::string filled_in(std::string_view word, std::span<const Placeholder> placeholders) {
  std::string result;
  while (!word.empty()) {
    const auto at =
        std::find_if(placeholders.begin(), placeholders.end(),
                     [&](const Placeholder& each) { return word.starts_with(each.name); });
    result += at == placeholders.end() ? word.substr(0, 1) : at->value;
    word.remove_prefix(at == placeholders.end() ? 1 : at->name.size());
  }
  return result;
}

}  // namespace

CommandTransport::CommandTransport(Loop& loop, CommandOptions options,
                                   std::shared_ptr<SetupWindow> window)
    : shared_(std::make_shared<CommandShared>(loop, std::move(options), std::move(window))) {}

CommandTransport::~CommandTransport() = default;

std::unique_ptr<HostLink> CommandTransport::open(const Host& host, const AgentCall& call,
                                                 LinkEvents events) {
  auto link = std::make_shared<CommandLink>(shared_, host, call, std::move(events));
  // Posted, so that no event comes from inside this call.
  shared_->loop.post([weak = std::weak_ptr(link)] {
    const auto waiting = weak.lock();
    if (waiting && !waiting->is_closed()) waiting->begin();
  });
  return std::make_unique<LinkHandle<CommandLink>>(std::move(link));
}

std::vector<std::string> environment_for(std::string_view program,
                                         const std::vector<std::string>& environment) {
  const bool is_srun = program.substr(program.rfind('/') + 1) == "srun";
  return is_srun ? environment_for_slurm(environment) : environment;
}

std::vector<std::string> command_arguments(const Host& host, const std::string& bootstrap) {
  const Placeholder values[] = {{"{host}", host.name},
                                {"{address}", host.address},
                                {"{user}", host.user},
                                {command_placeholder, bootstrap}};
  std::vector<std::string> arguments;
  bool has_command = false;
  for (const std::string& word : host.command) {
    has_command = has_command || word.find(command_placeholder) != word.npos;
    arguments.push_back(filled_in(word, values));
  }
  if (!has_command)
    for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), bootstrap})
      arguments.push_back(word);
  return arguments;
}

}  // namespace train
