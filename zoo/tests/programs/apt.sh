# apt with every folder of its own below this one: it reads a repository that is a folder, searches and shows it, and simulates.
mkdir -p root/etc/apt.conf.d root/etc/preferences.d root/etc/trusted.gpg.d root/state/lists/partial root/cache/archives/partial root/log
chmod 755 .
touch root/state/status
gzip -9nk repository/Packages
echo "deb [trusted=yes] file:$PWD/repository ./" > root/etc/sources.list
cat > apt.conf << END
Dir "$PWD/root";
Dir::Etc "$PWD/root/etc";
Dir::State "$PWD/root/state";
Dir::State::status "$PWD/root/state/status";
Dir::Cache "$PWD/root/cache";
Dir::Log "$PWD/root/log";
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
