# Sixty commits, packed, cloned through the pack protocol (file://), checked on both sides.
git init -q -b main origin
cd origin
number=0
while [ "$number" -lt 60 ]; do
    number=$((number + 1))
    seq "$number" $((number + 3000)) > "file-$number"
    echo "line $number" >> common
    git add .
    git commit -q -m "commit $number"
done
git gc -q
cd ..
git clone -q "file://$PWD/origin" copy
git -C copy fsck --full --strict --no-progress
git -C origin fsck --full --no-progress
git -C copy log --format='%H %T %s'
git -C copy diff --stat HEAD~30 HEAD
git -C copy blame -s common | tail -3
git -C copy grep -c 2999 | sort | head -5
echo done
