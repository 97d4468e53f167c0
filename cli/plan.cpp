// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>

#include "cli/commands.hpp"
#include "cli/talk.hpp"
#include "launcher/placement/placement.hpp"
#include "launcher/plan_env.hpp"
#include "launcher/plan_json.hpp"
#include "launcher/plan_text.hpp"

namespace train {

namespace {

bool wants_color() {
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
}

std::string show(const Plan& plan, const Request& request, PlanFlags::Format format) {
  switch (format) {
    case PlanFlags::Format::json:
      return plan_to_json(plan, request.user_environment, request.launcher_environment);
    case PlanFlags::Format::env:
      return plan_to_env(plan, request.user_environment, request.launcher_environment);
    case PlanFlags::Format::table:
      break;
  }
  TextOptions options;
  options.color = wants_color();
  return plan_to_text(plan, options);
}

}  // namespace

ExitCode plan_command(const PlanFlags& flags) {
  const auto request = load_request(flags.request, ReadFor::planning);
  if (!request) return report(request.error());
  if (!request->hosts_note.empty()) talk(request->hosts_note);
  // A table that is seen on the same screen has them already.
  const bool is_on_screen = flags.format == PlanFlags::Format::table &&
                            ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
  if (!is_on_screen) talk_warnings(request->warnings, {});
  const auto plan = make_plan(request->experiment, request->inventory);
  if (!plan) {
    if (flags.format == PlanFlags::Format::json) answer(refusal_to_json(plan.error()));
    return report(to_error(plan.error()));
  }
  return answer(show(*plan, *request, flags.format));
}

}  // namespace train
