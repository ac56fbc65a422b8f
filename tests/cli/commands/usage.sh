# What the program itself answers, before any command.
t tune
t tune --version
t tune nonsense
t tune help nonsense
t tune _hidden
t tune replay x.json
t tune help replay
t sh -c 'tune --help | head -2'
t sh -c 'tune help | grep -c .'
t sh -c 'tune --help > /dev/full'
