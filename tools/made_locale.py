"""Makes a German locale, whose decimal point is a comma, for tests of code that must not depend on the locale."""
import os
import shutil
import subprocess

NAME = "de_DE.UTF-8"


def made_locale(folder):
    """Makes the locale in `folder`, for LOCPATH. Returns the folder, or "" if localedef (Debian: locales) is not
    installed."""
    path, program = os.path.join(folder, NAME), shutil.which("localedef")
    language, _, charset = NAME.partition(".")
    if os.path.exists(os.path.join(path, "LC_NUMERIC")):
        return folder
    os.makedirs(folder, exist_ok=True)
    # 1 is the status of a locale that was made with warnings.
    if not program or subprocess.run([program, "-i", language, "-f", charset, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode > 1:
        return ""
    return folder
