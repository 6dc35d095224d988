static const struct differs {
	const char *reason;
	const char *events;
	bool sometimes;
} differs[] = {
	{ "x", "" },
};
