#!/usr/bin/env bash
# Makes the secret files that docker-compose.yml mounts, unless they are there: `bash scripts/make_secrets.sh [FOLDER]`.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-secrets}
mkdir -p "$folder"
chmod 700 "$folder" # the files inside are read by the containers' own users, so the folder is what shuts others out
random() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }
keep() { # keep NAME CONTENT
  if [ ! -e "$folder/$1" ]; then
    printf '%s' "$2" > "$folder/$1"
    chmod 444 "$folder/$1"
  fi
}
keep postgres_password "$(random 24)"
keep planner_database_url "postgres://staircase:$(cat "$folder/postgres_password")@postgres:5432/staircase"
keep planner_secret_key "$(random 40)"
keep planner_metrics_token "$(random 24)"
keep planner_admin_password "$(random 12)"
echo "Secrets are in $folder; the admin's first password is in $folder/planner_admin_password"
