# A browser without a window reads a page of this folder, runs its script, and writes the result as text.
export HOME="$PWD"
browser=$(command -v chromium || command -v chromium-headless-shell)
status=0
"$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --user-data-dir="$PWD/profile" --dump-dom "file://$PWD/page.html" \
    2> errors || status=$?
echo "it ended with $status"
