/* Starts and ends, linked with the libraries that the program has. */
int main(void)
{
	return 0;
}
