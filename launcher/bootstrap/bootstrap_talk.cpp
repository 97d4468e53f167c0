// SPDX-License-Identifier: Apache-2.0
#include "launcher/bootstrap/bootstrap_talk.hpp"

#include <fmt/format.h>

#include <utility>

#include "launcher/bootstrap/host_words.hpp"

namespace train {

namespace {

constexpr int max_uploads = 4;  // there are as many places
constexpr std::size_t max_reason = 2000;

tl::unexpected<Error> no_place(const std::string& reason) {
  // It brings all that it needs, so this is the kernel's doing, or a guard's on top of it.
  if (reason.find("(it does not run there)") != std::string::npos)
    return fail(ErrorClass::host, fmt::format("train's agent does not run on the host: {}", reason),
                "it needs Linux 5.3 or newer, and leave to execute what is in one of these places");
  return fail(ErrorClass::host, fmt::format("no place on the host takes the binary: {}", reason),
              "make room, or a folder that allows programs, in one of these places");
}

}  // namespace

BootstrapTalk::BootstrapTalk(const std::string& nonce, std::string machine)
    : reader_(nonce), machine_(std::move(machine)) {}

Result<BootstrapTalk::Step> BootstrapTalk::next() {
  auto answer = reader_.next();
  if (!answer) return tl::make_unexpected(answer.error());
  if (!*answer) return Step::listen;
  switch ((*answer)->kind) {
    case BootstrapAnswer::Kind::ready:
      client_address_ = (*answer)->client_address;
      host_address_ = (*answer)->host_address;
      return Step::ready;
    case BootstrapAnswer::Kind::failed:
      return no_place(printable((*answer)->reason, max_reason));
    case BootstrapAnswer::Kind::need:
      break;
  }
  return on_need(**answer);
}

Result<BootstrapTalk::Step> BootstrapTalk::on_need(const BootstrapAnswer& answer) {
  if (answer.machine != machine_ || answer.system != "Linux")
    return fail(
        ErrorClass::host,
        fmt::format("the host is a {} {} machine, and this is a train for Linux {}",
                    printable(answer.system, 100), printable(answer.machine, 100), machine_),
        "launch from a machine of the same kind as the hosts");
  if (uploads_++ == max_uploads)
    return fail(ErrorClass::host, "the host asks for the binary again and again",
                "check the free space of its home and /tmp");
  return Step::upload;
}

}  // namespace train
