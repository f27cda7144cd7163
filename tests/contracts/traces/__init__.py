"""Do confidential records leave a trace on the disk?"""
