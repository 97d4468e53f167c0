-- SPDX-License-Identifier: Apache-2.0
-- A registry as the first train with one has made it (schema 1: its statements, word for word),
-- with tasks as that train has written them. Nothing of this is brought up to date.
PRAGMA user_version = 1;
      CREATE TABLE task (
        id TEXT PRIMARY KEY NOT NULL,
        name TEXT NOT NULL,
        state TEXT NOT NULL,
        slots TEXT NOT NULL,
        hosts TEXT NOT NULL,
        world_size INTEGER NOT NULL,
        user TEXT NOT NULL,
        created INTEGER NOT NULL,
        started INTEGER,
        ended INTEGER,
        restarts INTEGER NOT NULL,
        exit_code INTEGER,
        error_class TEXT NOT NULL,
        cause TEXT NOT NULL,
        working_directory TEXT NOT NULL,
        log_directory TEXT NOT NULL,
        launcher_pid INTEGER NOT NULL,
        stop_grace_ms INTEGER NOT NULL,
        updated INTEGER NOT NULL,
        ranks TEXT NOT NULL,
        config_text TEXT NOT NULL,
        plan_json TEXT NOT NULL
      );
      CREATE INDEX task_by_age ON task (created);
      CREATE INDEX task_not_final ON task (created)
        WHERE state IN ('starting', 'running', 'stopping');
INSERT INTO task VALUES('q7ms2xkd','digits','succeeded','2','gpu-a,gpu-b',2,'ada',1763712000000,1763712001250,1763712061500,0,0,'','','/home/ada/digits','/home/ada/.local/state/train/tasks/q7ms2xkd/logs',4711,10000,1763712061500,'[{"exit_code":0,"host":"gpu-a","log_file":"/home/ada/.local/state/train/tasks/q7ms2xkd/logs/rank-0.log","rank":0,"slots":"0"},{"exit_code":0,"host":"gpu-b","log_file":"/home/ada/.local/state/train/tasks/q7ms2xkd/logs/rank-1.log","rank":1,"slots":"0"}]',replace('name: digits\nentrypoint: python3 train.py\nresources:\n  slots_per_trial: 2\n','\n',char(10)),replace('{\n  "world_size": 2\n}\n','\n',char(10)));
INSERT INTO task VALUES('hn4wz5ta','an ''odd'' name, é','failed','0.5','gpu-b',2,'ada',1763715600000,1763715600900,1763715607000,0,137,'worker','rank 1 on ''gpu-b'' was killed by SIGKILL','/home/ada','/home/ada/.local/state/train/tasks/hn4wz5ta/logs',4822,2500,1763715607010,'[{"host":"gpu-b","log_file":"/home/ada/.local/state/train/tasks/hn4wz5ta/logs/rank-0.log","rank":0,"signal":15,"slots":"0","stopped":true},{"host":"gpu-b","log_file":"/home/ada/.local/state/train/tasks/hn4wz5ta/logs/rank-1.log","rank":1,"signal":9}]','','');
INSERT INTO task VALUES('c2ybv6re','sweep','interrupted','1','gpu-a',1,'ada',1763719200000,NULL,1763719203000,0,130,'interrupted','stopped by SIGINT','/home/ada','/home/ada/.local/state/train/tasks/c2ybv6re/logs',4933,10000,1763719203000,'[{"host":"gpu-a","rank":0,"slots":"1"}]','','');
INSERT INTO task VALUES('mgp3ls7u','digits','running','1','gpu-a',1,'ada',1763722800000,1763722801000,NULL,0,NULL,'','','/home/ada/digits','/home/ada/.local/state/train/tasks/mgp3ls7u/logs',5044,10000,1763722801005,'[{"host":"gpu-a","log_file":"/home/ada/.local/state/train/tasks/mgp3ls7u/logs/rank-0.log","rank":0,"slots":"0"}]',replace('entrypoint: true\n','\n',char(10)),'{}');
