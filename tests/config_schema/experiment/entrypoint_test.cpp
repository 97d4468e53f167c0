// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/entrypoint.hpp"

#include "config_schema/text/shell_words.hpp"
#include "tests/catch.hpp"

using namespace train;

TEST_CASE("a shell line is seen as commands and words") {
  const auto commands =
      shell_commands("A=1 run 'a b' \"c\\\"d\" e\\ f; cd /x && go # not this\nlast");
  REQUIRE(commands.size() == 4);
  REQUIRE(commands[0].size() == 4);
  CHECK(commands[0][0].text == "run");
  CHECK(commands[0][0].begin == 4);
  CHECK(commands[0][1].text == "a b");
  CHECK(commands[0][2].text == "c\"d");
  CHECK(commands[0][3].text == "e f");
  CHECK(commands[2][0].text == "go");
  CHECK(commands[3][0].text == "last");
}

TEST_CASE("launchers of whole hosts are recognised") {
  const auto [line, launcher] = GENERATE(table<std::string, std::string>({
      {"torchrun train.py", "torchrun"},
      {"/opt/bin/torchrun train.py", "torchrun"},
      {"exec env A=1 torchrun train.py", "torchrun"},
      {"A=1 mpirun -n 4 x", "mpirun"},
      {"cd /x && deepspeed train.py", "deepspeed"},
      {"accelerate launch train.py", "accelerate launch"},
      {"python3 -u -m torch.distributed.run train.py", "torch.distributed.run"},
      {"python -m accelerate.commands.launch x", "accelerate.commands.launch"},
      {"horovodrun -np 4 x", "horovodrun"},
  }));
  CHECK(find_host_launcher({line, {}}) == launcher);
}

TEST_CASE("other programs are no launchers") {
  for (const char* line :
       {"python3 train.py", "python3 torchrun.py", "echo torchrun", "python3 -m pytest torchrun",
        "accelerate config", "python3 train.py -m torch.distributed.run", "'# torchrun'",
        "python3 -c 'import torchrun'", "./my-mpirun.sh"}) {
    INFO(line);
    CHECK_FALSE(find_host_launcher({line, {}}));
  }
  CHECK(find_host_launcher({{}, {"torchrun", "x"}}) == "torchrun");
  CHECK_FALSE(find_host_launcher({{}, {"sh", "a;torchrun"}}));
}

TEST_CASE("Determined's wrappers are unwrapped to their command") {
  const auto [line, command] = GENERATE(table<std::string, std::string>({
      {"python3 -m determined.launch.torch_distributed python3 train.py --lr 1",
       "python3 train.py --lr 1"},
      {"python3 -m determined.launch.torch_distributed train.py", "python3 train.py"},
      {"A=$B python3 -m determined.launch.deepspeed -- ./run \"I am 6' tall\" $HOME",
       "A=$B ./run \"I am 6' tall\" $HOME"},
      {"python3 -m determined.launch.torch_distributed --nnodes 2 --x=1 -- go now", "go now"},
      {"python3 -m determined.launch.horovod --autohorovod go", "go"},
      {"python3 -m determined.launch.tensorflow --a=b go -- x", "x"},
      {"cd /x && exec python3 -m determined.launch.horovod go", "cd /x && exec go"},
  }));
  const Unwrapped unwrapped = unwrap_determined({line, {}});
  CHECK_FALSE(unwrapped.trouble);
  CHECK(unwrapped.entrypoint.shell == command);
}

TEST_CASE("a wrapped list keeps its words byte for byte") {
  const Unwrapped unwrapped = unwrap_determined(
      {{}, {"python3", "-m", "determined.launch.torch_distributed", "run", "a b", "$X", "\n"}});
  CHECK(unwrapped.wrapper == "determined.launch.torch_distributed");
  CHECK(unwrapped.entrypoint.argv == std::vector<std::string>{"run", "a b", "$X", "\n"});
}

TEST_CASE("a wrapper that cannot be unwrapped says why") {
  const auto trouble = [](const char* line) {
    return unwrap_determined({line, {}}).trouble.has_value();
  };
  CHECK(trouble("python3 -m determined.launch.torch_distributed --trial m:T"));
  CHECK(trouble("python3 -m determined.launch.torch_distributed --trial=m:T"));
  CHECK(trouble("python3 -m determined.launch.torch_distributed"));
  CHECK(trouble("python3 -m determined.launch.torch_distributed --nnodes 2 go"));
  CHECK_FALSE(trouble("python3 train.py"));
}

TEST_CASE("words are added as they are") {
  CHECK(with_words({{}, {"a"}}, {"b c", "$x"}).argv == std::vector<std::string>{"a", "b c", "$x"});
  CHECK(with_words({"a\n", {}}, {"--lr=1", "it's", ""}).shell == "a --lr=1 'it'\\''s' ''");
  CHECK(with_words({}, {"a"}).argv == std::vector<std::string>{"a"});
}

TEST_CASE("a trial class is recognised") {
  CHECK(is_trial_class({"model_def:MNistTrial", {}}));
  CHECK(is_trial_class({"pkg.model:Trial", {}}));
  CHECK_FALSE(is_trial_class({"python3 model.py", {}}));
  CHECK_FALSE(is_trial_class({"a:", {}}));
}

TEST_CASE("the script of an interpreter is its first word, where that is plainly one") {
  const auto of_line = [](const char* line) {
    const auto script = find_script({line, {}});
    return script ? script->interpreter + " " + script->path : "";
  };
  const auto of_words = [](std::vector<std::string> words) {
    const auto script = find_script({{}, std::move(words)});
    return script ? script->interpreter + " " + script->path : "";
  };
  CHECK(of_words({"python3", "train.py", "--lr", "1"}) == "python3 train.py");
  CHECK(of_words({"/opt/conda/bin/python3.11", "a b/train"}) == "python3.11 a b/train");
  CHECK(of_words({"bash", "x.sh"}) == "bash x.sh");
  CHECK(of_words({"node", "x.mjs"}) == "node x.mjs");
  for (const char* interpreter : {"python", "sh", "perl", "ruby", "Rscript", "julia"})
    CHECK(of_words({interpreter, "x"}) == std::string(interpreter) + " x");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"python3"},
                                             {"python3", ""},
                                             {"python3", "-m", "x"},
                                             {"python3", "-"},
                                             {"python3-config", "x"},
                                             {"pythonista", "x"},
                                             {"env", "python3"},
                                             {"node", "inspect"},
                                             {"julia", "+1.9", "x.jl"},
                                             {"bash", "/dev/stdin"},
                                             {"sh", "/proc/self/fd/0"},
                                             {"torchrun", "x.py"},
                                             {}})
    CHECK(of_words(words) == "");

  CHECK(of_line("python3 train.py --lr $LR 'a b' ${X:-3}\n") == "python3 train.py");
  CHECK(of_line("  OMP_NUM_THREADS=4 python3 lib/train.py") == "python3 lib/train.py");
  for (const char* line :
       {"", "python3", "python3 $X.py", "python3 ~/x.py", "python3 *.py", "python3 'my x.py'",
        "python3 x.py; true", "cd a && python3 x.py", "python3 x.py || true", "python3 x.py > log",
        "python3 x.py $(date)", "python3 {a,b}.py", "exec", "PATH=/x sh x.sh",
        "if python3 x.py\nthen true; fi", "(python3 x.py)", "python3 -u x.py", "\"python3\" x.py"})
    CHECK(of_line(line) == "");
}

TEST_CASE("a shell looks for a script without a slash in PATH, too") {
  CHECK(find_script({{}, {"bash", "x.sh"}})->is_searched_in_path);
  CHECK_FALSE(find_script({{}, {"bash", "./x.sh"}})->is_searched_in_path);
  CHECK_FALSE(find_script({{}, {"python3", "x.py"}})->is_searched_in_path);
}
