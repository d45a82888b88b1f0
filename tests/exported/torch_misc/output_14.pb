B	logsumexpJÅk@∑é@
ø@nT0@