// SPDX-License-Identifier: Apache-2.0
#include "backends/link/host_settings.hpp"

#include "tests/catch.hpp"

using namespace train;
using Words = std::vector<std::string>;

TEST_CASE("ssh sees what it needs of the environment, and no secret of other programs") {
  CHECK(ssh_environment({"HOME=/home/me", "PATH=/bin", "SSH_AUTH_SOCK=/tmp/a", "LC_ALL=C",
                         "TERM=xterm", "KRB5CCNAME=/tmp/krb", "WANDB_API_KEY=secret",
                         "AWS_SECRET_ACCESS_KEY=secret", "LD_PRELOAD=/tmp/evil.so", "HOMER=x",
                         "NAMELESS", "=odd"}) == Words{"HOME=/home/me", "PATH=/bin",
                                                       "SSH_AUTH_SOCK=/tmp/a", "LC_ALL=C",
                                                       "TERM=xterm", "KRB5CCNAME=/tmp/krb"});
}
