# apt with every folder of its own below this one: it reads a repository that is a folder, searches and shows it, and simulates.
mkdir -p tree/etc/apt.conf.d tree/etc/preferences.d tree/etc/trusted.gpg.d tree/state/lists/partial tree/cache/archives/partial tree/log
chmod 755 .
touch tree/state/status
gzip -9nk repository/Packages
echo "deb [trusted=yes] file:$PWD/repository ./" > tree/etc/sources.list
cat > apt.conf << END
Dir "$PWD/tree";
Dir::Etc "$PWD/tree/etc";
Dir::State "$PWD/tree/state";
Dir::State::status "$PWD/tree/state/status";
Dir::Cache "$PWD/tree/cache";
Dir::Log "$PWD/tree/log";
Dir::Bin::methods "/usr/lib/apt/methods";
APT::Architecture "amd64";
APT::Architectures "amd64";
APT::Sandbox::User "";
Acquire::Languages "none";
END
export APT_CONFIG="$PWD/apt.conf"
apt-get -q update 2>&1 | grep -v -e '^Fetched' -e '^Reading'
apt-cache stats | grep -e 'Total package names' -e 'Total dependencies'
apt-cache search 'kind 5' | wc -l
apt-cache policy thing-77 thing-2000 no-such-thing
apt-cache show thing-3000
apt-cache depends --recurse thing-2999 | sort | uniq | cksum
apt -q list 'thing-1*5' 2> errors | cksum
apt-get -q -s install thing-2998 thing-17
status=0
apt-get -q -s install no-such-thing 2>&1 || status=$?
echo "it ended with $status"
echo done
